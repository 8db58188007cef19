#!/ bin / sh
#SPDX - License - Identifier : Apache - 2.0
#usage : device_corpus.sh[cuda][amd][intel][pocl]
#Makes the small code objects in corpus / device_ *of which every prefix is read.Run by hand, \
	with what the parts of
#test / device / fixture / make.sh need.
set - eu here = $(dirname "$(realpath " $0 ")") corpus =
	$here / corpus work = $(mktemp - d) trap 'rm -rf "$work"' EXIT cd "$work"

			      cat > tiny.cu << 'END' __device__ __forceinline__ float twice(float x)
{
	return x + x;
}

__global__ void k(float *x)
{
	x[threadIdx.x] = twice(x[threadIdx.x]);
}
END

		cat > tiny.cl << 'END' static inline float twice(float x)
{
	return x + x;
}

__kernel void k(__global float *x, int i)
{
	x[i] = twice(x[i]);
}
END

cuda()
{
	PATH=$PATH:/usr/local/cuda/bin
	for arch in 75 90 120;
	do
		nvcc -arch=sm_$arch -lineinfo -cubin -o "$corpus/device_cubin/tiny-$arch.cubin" tiny.cu
	done
	for mode in speed size;
	do
		nvcc - gencode arch = compute_80,
			       code = [ sm_80, compute_80 ] - lineinfo - fatbin - Xfatbin -
				      compress - all - Xfatbin - compress -
				      mode = $mode -
					     o
					     "$corpus/device_fatbin/tiny-$mode.fatbin" tiny.cu done
						     nvcc -
					     gencode arch = compute_80,
			       code = [ sm_80, compute_80 ] - fatbin - Xfatbin-- compress =
					      false - o
						      "$corpus/device_fatbin/tiny-none.fatbin" tiny.cu
#What a host program carries.
							      printf '.section .nv_fatbin, "a"\n.incbin "%s"\n' "$corpus/device_fatbin/tiny-size.fatbin" >
					      host.s cc - c -
						      o "$corpus/device_fatbin/tiny-host.o" host.s
}

amd()
{
	for
		cpu in gfx90a gfx1030;
	do
		clang - 15 - target amdgcn - amd - amdhsa -
			mcpu = $cpu - x cl - nogpulib - g - O2 - Wl,
			-z,
			max - page - size = 64 tiny.cl - o "$corpus/device_amdgpu/tiny-$cpu.co" done
		    : >
		      host.o clang - offload - bundler - 14 --type =
						    bc-- bundle - align = 64 --targets =
							    host - x86_64 - unknown - linux,
			hipv4 - amdgcn - amd - amdhsa-- gfx90a-- inputs = host.o,
			"$corpus/device_amdgpu/tiny-gfx90a.co" --outputs =
				"$corpus/device_bundle/tiny-gfx90a.bundle"
}

intel(){ cc "$here/../device/zebin_linked.c" - o linked - lze_loader ocloc compile - file tiny.cl -
		 device pvc - options "-g" --format zebin - output tiny -
		 out_dir out cp out / tiny_ *.bin
				      "$corpus/device_zebin/tiny-pvc.zebin" NEOReadDebugKeys =
		 1 SetCommandStreamReceiver = 1 ProductFamilyOverride = pvc HardwareInfoOverride =
			 2x8x8./ linked "$corpus/device_zebin/tiny-pvc.zebin"
					"$corpus/device_zebin/tiny-pvc-linked.zebin" ocloc compile -
			 file tiny.cl - device pvc,
	 tgllp-- format zebin - output archive -
		 out_dir out cp out / archive "$corpus/device_archive/tiny.ar" }

#As POCL names things, linked as small as can be.
pocl()
{
	sed -e 's/^__kernel//; s/ k(/ _pocl_kernel_k_workgroup(/; s/__global//' tiny.cl > tiny.c
	for version in 4 5;
	do
		clang - 15 - O1 - g - gdwarf - $version - fPIC - nostdlib - shared - Wl, -z,
			max - page - size = 64 - Wl, -z,
				     noseparate - code tiny.c -
					     o "$corpus/device_pocl/tiny-dwarf$version.so" done
}

for
	part;
do
$part done ls - l "$corpus" / device_ *
