"""Where CUDA's programs are looked for."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cuda_tools

NVCC = """\
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Cuda compilation tools, release 13.0, V13.0.88
"""


class CudaTools(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.bin = Path(folder) / "bin"
        self.bin.mkdir()
        self.environment = {"PATH": str(self.bin)}
        self.enterContext(mock.patch.object(cuda_tools, "FOLDERS", ()))

    def program(self, name: str, prints: str) -> str:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{prints}\nEND\n")
        path.chmod(0o755)
        return str(path)

    def within(self, **environment: str):
        return mock.patch.dict(os.environ, self.environment | environment, clear=True)

    def test_a_program_on_the_path_is_found_with_its_version(self):
        path = self.program("nvcc", NVCC)
        with self.within():
            self.assertEqual(cuda_tools.find("nvcc"), path)
            self.assertEqual(cuda_tools.version("nvcc"), "13.0")

    def test_versions_of_the_other_tools_are_read(self):
        self.program("ncu", "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880)")
        self.program("compute-sanitizer", "NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1")
        with self.within():
            self.assertEqual(cuda_tools.version("ncu"), "2025.3.1.0")
            self.assertEqual(cuda_tools.version("compute-sanitizer"), "2025.3.1")

    def test_cudacxx_is_believed(self):
        path = self.program("my-nvcc", NVCC)
        with self.within(CUDACXX=f"{path} -ccbin g++-12"):
            self.assertEqual(cuda_tools.find("nvcc"), path)
        for wrong in ("/nowhere/nvcc", "'", " "):
            with self.within(CUDACXX=wrong):
                self.assertIsNone(cuda_tools.find("nvcc"))

    def test_cuda_path_is_looked_into(self):
        path = self.program("ncu", "")
        with self.within(PATH="/nowhere", CUDA_PATH=str(self.bin.parent)):
            self.assertEqual(cuda_tools.find("ncu"), path)

    def test_each_gpu_is_listed(self):
        self.program("nvidia-smi", "NVIDIA H200, 575.57.08\nNVIDIA H200, 575.57.08")
        with self.within():
            self.assertEqual(cuda_tools.gpus(), ["NVIDIA H200, 575.57.08"] * 2)

    def test_without_a_driver_there_is_no_gpu(self):
        with self.within(PATH="/nowhere"):
            self.assertEqual(cuda_tools.gpus(), [])


if __name__ == "__main__":
    unittest.main()
