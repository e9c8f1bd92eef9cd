# How every target of the project is declared: one place for the language level, the warnings and the arrows.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Checks are data here, never NDEBUG asserts: no -DNDEBUG.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

find_program(INLAY_CCACHE ccache)
if(INLAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/ccache)
endif()

# Most of the time that a file of a hundred lines takes is that of its headers and of their templates, which its neighbours need too. OFF while
# working on such a file, and for what compiles files one by one (tests/mutate/sources.py --objects, clang-tidy).
option(INLAY_TOGETHER "Compile neighbouring files of a room as one" ON)

add_library(inlay_options INTERFACE)
target_compile_options(inlay_options INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees uninitialised members in moved variants and overlapping copies in std::string at -O2 that are not there.
  target_compile_options(inlay_options INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
  # Not to collect garbage before half a gigabyte is used takes a tenth off the time of a file.
  target_compile_options(inlay_options INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's std::stable_sort uses a function that it declares deprecated itself.
  target_compile_options(inlay_options INTERFACE -Wno-deprecated-declarations)
endif()
if(INLAY_WERROR)
  target_compile_options(inlay_options INTERFACE -Werror)
endif()
if(INLAY_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(INLAY_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# For install(TARGETS): with the libraries that not every Linux has, in a package that carries them.
if(INLAY_SELF_CONTAINED)
  set(inlay_carried RUNTIME_DEPENDENCIES PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s|z)[.]so" "^ld-linux"
      POST_EXCLUDE_REGEXES "inlay_")
endif()

# inlay_library(algebra SOURCES a.cpp b.cpp PUBLIC fmt::fmt PRIVATE z3)
# Declares target inlay_<name> (alias inlay::<name>) with the public headers of <name>/include.
function(inlay_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(inlay_${name} STATIC ${arg_SOURCES})
  add_library(inlay::${name} ALIAS inlay_${name})
  set_target_properties(inlay_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(inlay_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(inlay_${name} PUBLIC cxx_std_20)
  target_link_libraries(inlay_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:inlay_options>)
  # What these do is searches in maps and lists, or LLVM's: they compile in three quarters of the time so, and are as fast (docs/measurements/speed.md).
  # The algebra and the emulator have inner loops that -O2 is for.
  if(name MATCHES "^(solver|codegen|launch|validate|kernels)$")
    target_compile_options(inlay_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_property(GLOBAL APPEND PROPERTY INLAY_LIBRARIES inlay_${name})
  install(TARGETS inlay_${name} EXPORT inlayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

# inlay_together(inlay_solver arithmetic a.cpp b.cpp): more files of a target, which are compiled as one. They may not give two things one name.
function(inlay_together target group)
  target_sources(${target} PRIVATE ${ARGN})
  if(INLAY_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
  endif()
endfunction()

# inlay_test(name SOURCES a.cpp LABELS unit LIBS inlay::algebra)
# One Catch2 executable; each TEST_CASE becomes one ctest entry "<name>: <case>" with the labels given. Its files are compiled together, so what
# a file names is in a namespace of the file's name.
function(inlay_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS;LIBS;DEFINITIONS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE inlay_catch_main ${arg_LIBS} inlay_options)
  target_compile_definitions(test_${name} PRIVATE INLAY_TESTS_DIR="${CMAKE_SOURCE_DIR}/tests" ${arg_DEFINITIONS})
  target_compile_options(test_${name} PRIVATE ${INLAY_TEST_OPTIONS})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
  set_target_properties(test_${name} PROPERTIES UNITY_BUILD ${INLAY_TOGETHER} UNITY_BUILD_BATCH_SIZE 16)
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " EXTRA_ARGS --rng-seed 1
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "RC_PARAMS=seed=1")
endfunction()

# inlay_slow(name 3600): what is tagged [slow] in test_<name>, at length (tests/support/slow.h), as one ctest entry of label slow.
function(inlay_slow name timeout)
  add_test(NAME ${name}.slow COMMAND test_${name} [slow] --rng-seed 1)
  set_tests_properties(${name}.slow PROPERTIES LABELS slow TIMEOUT ${timeout} ENVIRONMENT "INLAY_SLOW=1;RC_PARAMS=seed=1")
endfunction()

# inlay_benchmark(name SOURCES a.cpp LIBS inlay::algebra): built by target `benchmarks`; ctest -L perf builds and runs them briefly.
function(inlay_benchmark name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT INLAY_BENCHMARKS)
    return()
  endif()
  find_package(benchmark REQUIRED)
  if(NOT TARGET benchmarks)
    add_custom_target(benchmarks)
  endif()
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(bench_${name} PRIVATE benchmark::benchmark ${arg_LIBS} inlay_options)
  target_compile_definitions(bench_${name} PRIVATE INLAY_TESTS_DIR="${CMAKE_SOURCE_DIR}/tests")
  add_dependencies(benchmarks bench_${name})
  if(INLAY_TESTS) # label perf: that it builds and runs, never how fast it is
    add_test(NAME perf.${name} COMMAND sh -c "'${CMAKE_COMMAND}' --build '${CMAKE_BINARY_DIR}' --target bench_${name} && \
      '$<TARGET_FILE:bench_${name}>' --benchmark_min_time=0.01")
    set_tests_properties(perf.${name} PROPERTIES LABELS perf TIMEOUT 600 RUN_SERIAL ON)
  endif()
endfunction()

# inlay_fuzzer(parse SOURCES parse_fuzzer.cpp LIBS inlay::algebra)
# Defines LLVMFuzzerTestOneInput. With INLAY_FUZZERS it is a libFuzzer program; always, ctest replays the committed
# corpus/<name> through it (label fuzz), so that what was once found stays found.
function(inlay_fuzzer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  if(INLAY_FUZZERS)
    add_executable(fuzz_${name} ${arg_SOURCES})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBS} inlay_options)
  endif()
  add_executable(replay_${name} ${arg_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
  target_link_libraries(replay_${name} PRIVATE ${arg_LIBS} inlay_options)
  add_test(NAME fuzz.${name} COMMAND replay_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
