# dtypecheck_test(core.dtype_set SOURCES a.cpp LIBRARIES dtypecheck_core): one Catch2 program, one CTest entry of that name.
add_library(dtypecheck_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
target_link_libraries(dtypecheck_test_main PUBLIC dtypecheck_options Catch2::Catch2)
target_compile_options(dtypecheck_test_main PRIVATE -O0)  # Catch's own code: minutes, with sanitizers and optimization

function(dtypecheck_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
  string(REPLACE "." "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE dtypecheck_test_main ${arg_LIBRARIES})
  target_compile_definitions(${target} PRIVATE DTYPECHECK_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               DTYPECHECK_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${target})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()
