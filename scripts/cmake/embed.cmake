# add_embedded(TARGET SYMBOL FILE...): the files, one after the other, as the array SYMBOL and its
# SYMBOL_size, compiled into TARGET. Nothing made lies in the source tree.
#
# The same file is the script that does it: cmake -DSYMBOL= -DOUTPUT= -DFILES=a|b -P embed.cmake

if(CMAKE_SCRIPT_MODE_FILE)
	string(REPLACE "|" ";" FILES "${FILES}")
	set(hex "")
	foreach(file IN LISTS FILES)
		file(READ ${file} content HEX)
		string(APPEND hex "${content}")
	endforeach()
	string(LENGTH "${hex}" size)
	math(EXPR size "${size} / 2")
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	# Lines of 16, since compilers and editors dislike one of a megabyte.
	string(REGEX REPLACE "(................................................................................)"
		"\\1\n\t" bytes "${bytes}")
	file(WRITE ${OUTPUT} "#include <stddef.h>\n\n"
		"extern const unsigned char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_size;\n\n"
		"const unsigned char ${SYMBOL}[] = {\n\t${bytes}\n};\n"
		"const size_t ${SYMBOL}_size = ${size};\n")
	return()
endif()

set(ACCEL_PROF_EMBED ${CMAKE_CURRENT_LIST_FILE})

function(add_embedded target symbol)
	set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
	string(REPLACE ";" "|" files "${ARGN}")
	add_custom_command(OUTPUT ${output}
		COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} -DOUTPUT=${output} "-DFILES=${files}"
			-P ${ACCEL_PROF_EMBED}
		DEPENDS ${ARGN} ${ACCEL_PROF_EMBED} VERBATIM)
	target_sources(${target} PRIVATE ${output})
endfunction()
