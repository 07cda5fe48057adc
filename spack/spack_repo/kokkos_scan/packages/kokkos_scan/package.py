# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class KokkosScan(CMakePackage, CudaPackage, ROCmPackage):
    """Scans every line of a Kokkos View along any axis: running sums and products, minima and
    maxima, and any other associative operator, masked, reversed or exclusive."""

    # It builds the checkout that it lies in: the branch main, or with "spack develop" all that
    # lies there.
    git = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))

    test_requires_compiler = True

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    variant("tools", default=False, description="Build the command line kokkos-scan")
    variant("tests", default=False, description="Build the tests")
    variant("eti", default=False, description="Build a library of common scans, compiled once")
    variant("mpi", default=False, description="Scan over the ranks of an MPI communicator")
    variant("nccl", default=False, when="+cuda", description="Scan over GPUs by NCCL")

    # The execution spaces are those of Kokkos; these variants, cuda and rocm only ask it for them.
    for space in ("serial", "openmp", "threads", "sycl"):
        variant(space, default=space == "serial", description=f"Scan with the space {space}")
        depends_on(f"kokkos+{space}", when=f"+{space}")

    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")
    depends_on("kokkos@4.5:5.2")
    depends_on("mpi@3:", when="+mpi")
    depends_on("nccl@2.7:", when="+nccl")
    depends_on("cli11@2:", type="build", when="+tools")
    depends_on("googletest@1.12:", type="build", when="+tests")
    depends_on("python@3.9:", type="build", when="+tests")
    depends_on("py-numpy", type="build", when="+tests+tools")

    # Without its wrapper of nvcc, Kokkos refuses CUDA with GCC, though only when it is built.
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda+wrapper cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    for target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos+rocm amdgpu_target={target}", when=f"+rocm amdgpu_target={target}")

    conflicts("cuda_arch=none", when="+cuda", msg="Kokkos needs to know the cuda_arch")
    requires("^kokkos+cuda_lambda", when="+cuda ^kokkos@:4")

    def compiler_args(self):
        """What CMake is told of Kokkos and of the compiler that it needs."""
        args = [self.define("Kokkos_ROOT", self.spec["kokkos"].prefix)]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx))
        elif self.spec.satisfies("+rocm"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc))
        return args

    def cmake_args(self):
        return self.compiler_args() + [
            self.define_from_variant("KokkosScan_ENABLE_TOOLS", "tools"),
            self.define_from_variant("KokkosScan_ENABLE_TESTS", "tests"),
            self.define_from_variant("KokkosScan_ENABLE_ETI", "eti"),
            self.define_from_variant("KokkosScan_ENABLE_MPI", "mpi"),
            self.define_from_variant("KokkosScan_ENABLE_NCCL", "nccl"),
            self.define("KokkosScan_ENABLE_PERF_TESTS", False),
            self.define("KokkosScan_ENABLE_EXAMPLES", False),
        ]

    @run_after("install")
    def keep_examples(self):
        """Keeps the examples for "spack test run"."""
        cache_extra_test_sources(self, "examples")

    def test_examples(self):
        """Builds the examples against the installed package and compares what they print."""
        cmake = Executable(self.spec["cmake"].prefix.bin.cmake)
        ctest = Executable(self.spec["cmake"].prefix.bin.ctest)
        examples = join_path(self.test_suite.current_test_cache_dir, "examples")
        with working_dir("examples", create=True):
            cmake(examples, self.define("KokkosScan_ROOT", self.prefix), *self.compiler_args())
            cmake("--build", ".")
            ctest("--output-on-failure", "--no-tests=error")
