# add_fuzz_target(NAME MODULE...): test/fuzz/NAME_fuzz.c, linked with these modules.
#
# It becomes two things: with clang and ACCEL_PROF_FUZZ a libFuzzer binary, and in every build a
# test `fuzz.NAME` that replays each file of test/fuzz/corpus/NAME, and each prefix of the small
# ones, through an ordinary main() (test/fuzz/replay.c).

option(ACCEL_PROF_FUZZ "Build libFuzzer binaries (needs clang)" OFF)

function(add_fuzz_target name)
	list(TRANSFORM ARGN PREPEND accel_prof_ OUTPUT_VARIABLE modules)
	set(source ${CMAKE_SOURCE_DIR}/test/fuzz/${name}_fuzz.c)

	add_executable(fuzz_replay_${name} ${source} ${CMAKE_SOURCE_DIR}/test/fuzz/replay.c)
	target_link_libraries(fuzz_replay_${name} PRIVATE ${modules})
	# The smallest code object of a real compiler has some 8 KB; they are read quickly.
	if(name MATCHES "^device_")
		target_compile_definitions(fuzz_replay_${name} PRIVATE PREFIX_MAX_BYTES=8192)
	endif()
	add_test(NAME fuzz.${name} COMMAND fuzz_replay_${name}
		${CMAKE_SOURCE_DIR}/test/fuzz/corpus/${name})
	set_tests_properties(fuzz.${name} PROPERTIES LABELS "fuzz" TIMEOUT 300)

	if(ACCEL_PROF_FUZZ)
		add_executable(fuzz_${name} ${source})
		target_link_libraries(fuzz_${name} PRIVATE ${modules})
		target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
	endif()
endfunction()
