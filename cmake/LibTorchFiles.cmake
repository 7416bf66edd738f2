# What the files of a LibTorch say of it.
include_guard(GLOBAL)

# The header says major.minor.patch in every LibTorch since 1.8; since 2.10 one level deeper.
function(libtorch_version include_dir result)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${include_dir}/${header}")
      file(READ "${include_dir}/${header}" text)
      if(text MATCHES "VERSION_MAJOR ([0-9]+).*VERSION_MINOR ([0-9]+).*VERSION_PATCH ([0-9]+)")
        set(${result} "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# A function of c10 that takes a std::string carries its ABI in its mangled name. libstdc++'s own
# symbols say nothing: its regex is in __cxx11 under either ABI.
function(libtorch_abi library result)
  file(STRINGS "${library}" names REGEX "^_ZNK?3c10.*NSt7__cxx1112basic_string" LIMIT_COUNT 1)
  if(names)
    set(${result} 1 PARENT_SCOPE)
  else()
    set(${result} 0 PARENT_SCOPE)
  endif()
endfunction()
