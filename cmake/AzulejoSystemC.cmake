# azulejo::systemc: the system's SystemC library, with a probe that explains the most common failure in words.
find_path(SYSTEMC_INCLUDE_DIR systemc REQUIRED)
find_library(SYSTEMC_LIBRARY systemc REQUIRED)

add_library(azulejo_systemc INTERFACE)
add_library(azulejo::systemc ALIAS azulejo_systemc)
target_include_directories(azulejo_systemc SYSTEM INTERFACE "${SYSTEMC_INCLUDE_DIR}")
target_link_libraries(azulejo_systemc INTERFACE "${SYSTEMC_LIBRARY}" pthread)
target_compile_definitions(azulejo_systemc INTERFACE SC_INCLUDE_DYNAMIC_PROCESSES)

# SystemC encodes its version and C++ standard in one symbol, sc_api_version_<version>_cxx<standard>; code compiled for
# another standard fails at link time with nothing but that name. Ask now, and say what it means.
if(NOT DEFINED AZULEJO_SYSTEMC_OK)
  file(WRITE "${CMAKE_BINARY_DIR}/probe/systemc_probe.cpp"
       "#include <systemc>\nint sc_main(int, char**) { return sc_core::sc_time_stamp().value() == 0 ? 0 : 1; }\n")
  try_compile(AZULEJO_SYSTEMC_LINKS "${CMAKE_BINARY_DIR}/probe/build" "${CMAKE_BINARY_DIR}/probe/systemc_probe.cpp"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${SYSTEMC_INCLUDE_DIR}"
    LINK_LIBRARIES "${SYSTEMC_LIBRARY}" pthread
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    OUTPUT_VARIABLE AZULEJO_PROBE_OUTPUT)
  if(NOT AZULEJO_SYSTEMC_LINKS)
    execute_process(COMMAND ${CMAKE_NM} -D --defined-only "${SYSTEMC_LIBRARY}" OUTPUT_VARIABLE AZULEJO_NM ERROR_QUIET)
    string(REGEX MATCH "sc_api_version_([0-9]+)_([0-9]+)_([0-9]+)_cxx([0-9][0-9][0-9][0-9])[0-9][0-9]L" AZULEJO_API "${AZULEJO_NM}")
    if(AZULEJO_API AND NOT CMAKE_MATCH_4 STREQUAL "2017")
      message(FATAL_ERROR
        "The SystemC library ${SYSTEMC_LIBRARY} (version ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}) was built for "
        "C++ standard ${CMAKE_MATCH_4}; azulejo is C++17, and SystemC links only with code of its own standard.\n"
        "Remedy: use Debian's package (apt-get install libsystemc-dev) or rebuild SystemC with CMAKE_CXX_STANDARD=17, then "
        "configure again with -DSYSTEMC_LIBRARY=<path> -DSYSTEMC_INCLUDE_DIR=<path>.")
    endif()
    message(FATAL_ERROR "A minimal SystemC program does not build against ${SYSTEMC_LIBRARY}:\n${AZULEJO_PROBE_OUTPUT}")
  endif()
  set(AZULEJO_SYSTEMC_OK TRUE CACHE INTERNAL "SystemC is built for C++17")
endif()
