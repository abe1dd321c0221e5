# What has to be there before anything is compiled. Each message is the rule, what was found, and what
# to do. `cmake -D… -P requirements.cmake` runs the checks alone, as tests/package/test_build.py does.
function(require_compiler compiler)
  if(NOT compiler)
    message(FATAL_ERROR
      "tallybayes compiles its kernels, and no C++ compiler was found. Install one (Debian and Ubuntu: "
      "apt install g++ python3-dev; Fedora: dnf install gcc-c++ python3-devel; macOS: xcode-select "
      "--install), or name it in the variable CXX.")
  endif()
endfunction()

function(require_compiler_version id version)
  foreach(known "GNU;12" "Clang;14" "AppleClang;15")
    list(GET known 0 name)
    list(GET known 1 oldest)
    if(id STREQUAL name AND version VERSION_LESS oldest)
      message(FATAL_ERROR
        "tallybayes needs ${name} ${oldest} or newer, and this is ${name} ${version}. Install a newer "
        "compiler and name it in the variable CXX.")
    endif()
  endforeach()
endfunction()

function(require_system name)
  if(name STREQUAL "Windows")
    message(FATAL_ERROR
      "tallybayes has no build for Windows yet, and this is Windows. Use the Linux package in the "
      "Windows Subsystem for Linux.")
  endif()
endfunction()

function(require_64_bits pointer_size)
  if(NOT pointer_size EQUAL 8)
    math(EXPR bits "8 * ${pointer_size}")
    message(FATAL_ERROR
      "tallybayes needs a 64-bit system and Python, and this build is for ${bits} bits. Install a "
      "64-bit Python.")
  endif()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  require_system("${SYSTEM}")
  require_compiler("${CXX}")
  require_compiler_version("${ID}" "${VERSION}")
  require_64_bits("${POINTER_SIZE}")
endif()
