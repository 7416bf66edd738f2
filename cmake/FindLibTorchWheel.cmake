# The LibTorch of a wheel, found by its own files. The wheel's TorchConfig.cmake insists on nvcc
# even where nothing is compiled for a GPU; what we need of it is a folder of headers, three
# libraries, a version and an ABI.
#
# Looked for in this order:
#   LIBTORCH_WHEEL_DIR    the torch folder itself (…/site-packages/torch), or an unpacked LibTorch archive
#   .venv/bin/python of the source tree, $VIRTUAL_ENV/bin/python, python3     whichever has torch first
#
# Sets LibTorchWheel_FOUND, LibTorchWheel_VERSION ("2.11.0"), LibTorchWheel_CXX11_ABI (0 or 1),
# LibTorchWheel_INCLUDE_DIRS, LibTorchWheel_LIBRARY_DIR and LibTorchWheel_PYTHON (empty with
# LIBTORCH_WHEEL_DIR), and defines
#   LibTorch::headers     include folders, language level and ABI, with no library
#   LibTorch::cpu         the same with torch_cpu and c10, found again at run time through the RPATH
#   LibTorch::torch       the same with torch too, which brings its CUDA libraries into the process where it has some

set(LIBTORCH_WHEEL_DIR "" CACHE PATH "The torch folder of a wheel (…/site-packages/torch); empty: ask Python")

# Where Python finds torch, without importing it (an import takes seconds).
function(_libtorch_wheel_of_python python result)
  execute_process(
    COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0], end='')"
    OUTPUT_VARIABLE folder ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND EXISTS "${folder}/include/torch/csrc/api/include/torch/version.h")
    set(${result} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

include(LibTorchFiles)

set(_wheel "${LIBTORCH_WHEEL_DIR}")
set(LibTorchWheel_PYTHON "")
if(NOT _wheel)
  find_program(LIBTORCH_SYSTEM_PYTHON python3)
  mark_as_advanced(LIBTORCH_SYSTEM_PYTHON)
  foreach(_python "${CMAKE_SOURCE_DIR}/.venv/bin/python" "$ENV{VIRTUAL_ENV}/bin/python" "${LIBTORCH_SYSTEM_PYTHON}")
    if(NOT _wheel AND EXISTS "${_python}")
      _libtorch_wheel_of_python("${_python}" _wheel)
      if(_wheel)
        set(LibTorchWheel_PYTHON "${_python}")
      endif()
    endif()
  endforeach()
endif()

unset(LibTorchWheel_VERSION)
set(LibTorchWheel_INCLUDE_DIRS "${_wheel}/include" "${_wheel}/include/torch/csrc/api/include")
set(LibTorchWheel_LIBRARY_DIR "${_wheel}/lib")
if(_wheel AND EXISTS "${_wheel}/lib/libtorch_cpu.so")
  libtorch_version("${_wheel}/include" LibTorchWheel_VERSION)
  libtorch_abi("${_wheel}/lib/libc10.so" LibTorchWheel_CXX11_ABI)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorchWheel
  REQUIRED_VARS LibTorchWheel_LIBRARY_DIR LibTorchWheel_VERSION
  VERSION_VAR LibTorchWheel_VERSION
  REASON_FAILURE_MESSAGE
    "run scripts/setup to make .venv, or give -DLIBTORCH_WHEEL_DIR=…/site-packages/torch, or build without the tracer's LibTorch part: -DDTYPECHECK_TRACER=OFF")

if(LibTorchWheel_FOUND AND NOT TARGET LibTorch::headers)
  add_library(LibTorch::headers INTERFACE IMPORTED)
  # As SYSTEM: their warnings are not ours to fix.
  target_include_directories(LibTorch::headers SYSTEM INTERFACE ${LibTorchWheel_INCLUDE_DIRS})
  target_compile_definitions(LibTorch::headers INTERFACE _GLIBCXX_USE_CXX11_ABI=${LibTorchWheel_CXX11_ABI})
  if(LibTorchWheel_VERSION VERSION_LESS 2.14)
    target_compile_features(LibTorch::headers INTERFACE cxx_std_17)
  else()
    target_compile_features(LibTorch::headers INTERFACE cxx_std_20)
  endif()

  # By name and folder: the wheel's libtorch.so is a stub, torch_cpu and c10 are the two that hold
  # symbols. CUDA libraries that they name themselves are not looked for at link time.
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  target_link_libraries(LibTorch::cpu INTERFACE LibTorch::headers "${LibTorchWheel_LIBRARY_DIR}/libtorch_cpu.so"
                                                "${LibTorchWheel_LIBRARY_DIR}/libc10.so")
  target_link_options(LibTorch::cpu INTERFACE "LINKER:--allow-shlib-undefined")
  add_library(LibTorch::torch INTERFACE IMPORTED)
  target_link_libraries(LibTorch::torch INTERFACE "${LibTorchWheel_LIBRARY_DIR}/libtorch.so" LibTorch::cpu)
endif()
