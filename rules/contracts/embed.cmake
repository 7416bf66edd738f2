# Writes the contract files as string literals.
#   cmake -DFOLDER=… -DOUT=embedded.h -P embed.cmake
function(embed file name)
  file(READ ${file} text)
  string(FIND "${text}" ")embedded\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file}: holds )embedded\", which would end its string literal")
  endif()
  # As an array: the length of a string_view would be counted by the compiler, byte by byte.
  file(APPEND ${OUT} "inline constexpr char ${name}[] = R\"embedded(${text})embedded\";\n\n")
endfunction()

file(WRITE ${OUT} "// Made by rules/contracts/embed.cmake.\n#pragma once\n\n")
file(APPEND ${OUT} "namespace dtypecheck::contracts::embedded {\n\n")
embed(${FOLDER}/cpu.contracts kCpu)
embed(${FOLDER}/cuda.contracts kCuda)
file(APPEND ${OUT} "}  // namespace dtypecheck::contracts::embedded\n")
