# Read by ctest before it starts a test. Several tests run at once and their models are small:
# threads of one program would spend the time waiting for each other, and spin at it. What the user
# has set stays.
foreach(setting OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive)
  string(REGEX MATCH "^([^=]*)=(.*)$" setting ${setting})
  if(NOT DEFINED ENV{${CMAKE_MATCH_1}})
    set(ENV{${CMAKE_MATCH_1}} ${CMAKE_MATCH_2})
  endif()
endforeach()
