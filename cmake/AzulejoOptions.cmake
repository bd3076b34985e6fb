# azulejo_options: C++17, warnings and sanitizers for every target of ours; no directory-wide flags.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(azulejo_options INTERFACE)
add_library(azulejo::options ALIAS azulejo_options)
# Debian's SystemC is built for C++17 and only C++17; one standard for every target.
target_compile_features(azulejo_options INTERFACE cxx_std_17)
# Rounding is part of the numerics contract: no contraction of a*b+c, no fast-math anywhere.
target_compile_options(azulejo_options INTERFACE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
target_include_directories(azulejo_options INTERFACE "${CMAKE_SOURCE_DIR}")
if(AZULEJO_WERROR)
  target_compile_options(azulejo_options INTERFACE -Werror)
endif()
if(AZULEJO_SANITIZE)
  target_compile_options(azulejo_options INTERFACE -fsanitize=${AZULEJO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(azulejo_options INTERFACE -fsanitize=${AZULEJO_SANITIZE})
endif()
if(AZULEJO_COVERAGE)
  target_compile_options(azulejo_options INTERFACE --coverage)
  target_link_options(azulejo_options INTERFACE --coverage)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

# azulejo_add_library(name SOURCES ... LINK ...): the target azulejo_<name>, alias azulejo::<name>.
function(azulejo_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(azulejo_${name} STATIC ${ARG_SOURCES})
  add_library(azulejo::${name} ALIAS azulejo_${name})
  target_link_libraries(azulejo_${name} PUBLIC azulejo::options ${ARG_LINK})
endfunction()
