# cmake -DREADELF=... -DOBJECT=... -P bpf_sizes.cmake: how many instructions each program and each
# function of a BPF object has.
execute_process(COMMAND ${READELF} --wide --symbols ${OBJECT} OUTPUT_VARIABLE text
	COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " [0-9]+ FUNC +GLOBAL[^\n]*" lines "${text}")
set(sizes)
foreach(line IN LISTS lines)
	string(REGEX MATCH " ([0-9]+) FUNC.* ([a-z_]+)$" _ "${line}")
	math(EXPR count "${CMAKE_MATCH_1} / 8") # bytes of an instruction
	string(APPEND sizes " ${CMAKE_MATCH_2} ${count}")
endforeach()
message("BPF instructions:${sizes}")
