# Writes the page's template, style and script as string literals, with the hashes that its content
# security policy allows: nothing else in the page can run, however it came in.
#   cmake -DFOLDER=… -DOUT=page.h -P embed.cmake

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

function(embed file name)
  file(READ ${file} text)
  string(FIND "${text}" ")embedded\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file}: holds )embedded\", which would end its string literal; write it another way")
  endif()
  file(APPEND ${OUT} "inline constexpr std::string_view ${name} = R\"embedded(${text})embedded\";\n\n")
endfunction()

policy_hash(${FOLDER}/style.css style_hash)
policy_hash(${FOLDER}/page.js script_hash)
file(WRITE ${OUT} "// Made by reports/html/embed.cmake.\n#pragma once\n\n#include <string_view>\n\n")
file(APPEND ${OUT} "namespace dtypecheck::reports::page {\n\n")
embed(${FOLDER}/page.html kTemplate)
embed(${FOLDER}/style.css kStyle)
embed(${FOLDER}/page.js kScript)
file(APPEND ${OUT} "inline constexpr std::string_view kStyleHash = \"${style_hash}\";\n")
file(APPEND ${OUT} "inline constexpr std::string_view kScriptHash = \"${script_hash}\";\n\n")
file(APPEND ${OUT} "}  // namespace dtypecheck::reports::page\n")
