# dtypecheck_embed: text files of the tree as string literals, so that a program cannot be without
# them.
#
#   dtypecheck_embed(dtypecheck_contracts rules/contracts/embedded.h contracts::embedded
#                    kCpu=cpu.contracts kCuda=cuda.contracts)
#
# gives the target a header with a std::string_view for each file, in namespace
# dtypecheck::contracts::embedded. With POLICY_HASHES each has a second one, kCpuHash: what a
# content security policy of HTML calls the text by.
#
# The file is both: included, it defines the function; run with -P during the build, it writes the
# header.
set(embed_script ${CMAKE_CURRENT_LIST_FILE})

function(dtypecheck_embed target header namespace)
  cmake_parse_arguments(PARSE_ARGV 3 arg "POLICY_HASHES" "" "")
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/${header})
  list(TRANSFORM arg_UNPARSED_ARGUMENTS REPLACE "^.*=" "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DOUT=${out} -DNAMESPACE=dtypecheck::${namespace}
            "-DFILES=${arg_UNPARSED_ARGUMENTS}" -DHASHES=${arg_POLICY_HASHES} -P ${embed_script}
    DEPENDS ${files} ${embed_script}
    COMMENT "Embedding ${header}"
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()

# "sha256-…" in base64, as a content security policy wants it; CMake itself gives hex only.
function(policy_hash file out)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  file(SHA256 ${file} hex)
  set(base64 "")
  foreach(group RANGE 10)  # 11 groups of 3 bytes: the last one has 2, and a third that is 0
    math(EXPR at "${group} * 6")
    string(SUBSTRING "${hex}00" ${at} 6 digits)
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${digits} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 character)
      string(APPEND base64 ${character})
    endforeach()
  endforeach()
  string(REGEX REPLACE "A$" "=" base64 ${base64})
  set(${out} "sha256-${base64}" PARENT_SCOPE)
endfunction()

function(write_literal name file)
  file(READ ${file} text)
  string(FIND "${text}" ")embedded\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file}: holds )embedded\", which would end its string literal; write it another way")
  endif()
  # As an array: the length of a string_view would be counted by the compiler, byte by byte.
  file(APPEND ${OUT} "inline constexpr char ${name}Text[] = R\"embedded(${text})embedded\";\n"
                     "inline constexpr std::string_view ${name}{${name}Text, sizeof(${name}Text) - 1};\n\n")
  if(HASHES)
    policy_hash(${file} hash)
    file(APPEND ${OUT} "inline constexpr std::string_view ${name}Hash = \"${hash}\";\n\n")
  endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL embed_script)
  file(WRITE ${OUT} "// Made by cmake/embed.cmake.\n#pragma once\n\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n\n")
  foreach(pair ${FILES})
    string(REGEX MATCH "^([^=]*)=(.*)$" pair "${pair}")
    write_literal(${CMAKE_MATCH_1} ${FOLDER}/${CMAKE_MATCH_2})
  endforeach()
  file(APPEND ${OUT} "}  // namespace ${NAMESPACE}\n")
endif()
