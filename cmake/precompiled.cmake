# Headers that many files read are read once, by a target of their own, and its precompiled header
# is shared. A compiler takes it only with the flags and macros that it was made with: targets of
# other flags share another one, or none. Files include what they use all the same;
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows it.

# precompile(NAME LIBRARIES lib… OPTIONS flag… HEADERS <header>…)
function(precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;OPTIONS;HEADERS")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cpp CONTENT "")  # an object library has to have a file
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/empty.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# share_precompiled(NAME target…)
function(share_precompiled name)
  foreach(target ${ARGN})
    target_precompile_headers(${target} REUSE_FROM ${name})
    # What ccache asks GCC for, so that its look at the preprocessed file takes the precompiled
    # header, too.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endforeach()
endfunction()

precompile(
  dtypecheck_std_headers
  LIBRARIES dtypecheck_options fmt::fmt
  HEADERS <algorithm> <charconv> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <sstream> <string>
          <string_view> <unordered_map> <vector> <fmt/format.h> <fmt/ranges.h>)
