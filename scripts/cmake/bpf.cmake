# add_bpf_skeleton(NAME SOURCE...): the sources compiled, linked into one BPF object and turned into
# NAME.skel.h with struct NAME_bpf; reached through the INTERFACE target bpf_NAME.
#
# The object travels inside the binary. CO-RE relocations are made against the small header
# bpf/kernel.h of ours, so that a build host needs no BTF of its own.

find_program(ACCEL_PROF_CLANG NAMES clang-14 clang REQUIRED)
find_program(ACCEL_PROF_BPFTOOL NAMES bpftool HINTS /usr/sbin REQUIRED)

string(REGEX REPLACE "^(x86_64|amd64)$" "x86" ACCEL_PROF_BPF_ARCH "${CMAKE_SYSTEM_PROCESSOR}")
string(REGEX REPLACE "^aarch64$" "arm64" ACCEL_PROF_BPF_ARCH "${ACCEL_PROF_BPF_ARCH}")

function(add_bpf_skeleton name)
	set(objects)
	foreach(source IN LISTS ARGN)
		get_filename_component(stem ${source} NAME_WE)
		set(object ${CMAKE_CURRENT_BINARY_DIR}/${stem}.bpf.o)
		# <linux/bpf.h> wants asm/types.h, which Debian keeps in a folder that clang does
		# not search for this target.
		add_custom_command(OUTPUT ${object} DEPFILE ${object}.d
			COMMAND ${ACCEL_PROF_CLANG} -O2 -g -ffreestanding -target bpf -mcpu=v3
				-D__TARGET_ARCH_${ACCEL_PROF_BPF_ARCH}
				-Wall -Wextra -Werror -Wno-address-of-packed-member
				-Wno-unused-parameter -Wno-missing-declarations
				-MD -MT ${object} -MF ${object}.d
				-I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/lib
				-idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
				-c ${source} -o ${object}
			DEPENDS ${source} VERBATIM)
		list(APPEND objects ${object})
	endforeach()

	set(linked ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
	add_custom_command(OUTPUT ${linked}
		COMMAND ${ACCEL_PROF_BPFTOOL} gen object ${linked} ${objects}
		COMMAND ${CMAKE_COMMAND} -DREADELF=${CMAKE_READELF} -DOBJECT=${linked}
			-P ${CMAKE_SOURCE_DIR}/scripts/cmake/bpf_sizes.cmake
		DEPENDS ${objects} VERBATIM)
	set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
	add_custom_command(OUTPUT ${skeleton}
		COMMAND ${ACCEL_PROF_BPFTOOL} gen skeleton ${linked} name ${name}_bpf
			> ${skeleton}
		DEPENDS ${linked} VERBATIM)
	add_custom_target(bpf_${name}_skeleton DEPENDS ${skeleton})
	add_library(bpf_${name} INTERFACE)
	add_dependencies(bpf_${name} bpf_${name}_skeleton)
	target_include_directories(bpf_${name} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
