# SPDX-License-Identifier: Apache-2.0
"""Are matrices from numpy multiplied right, within the rounding that the formats allow?"""
import numpy as np

from cli_support import CliTest, main, size

UNIT = {"fp32": 2.0**-24, "tf32": 2.0**-11, "fp16": 2.0**-11, "bf16": 2.0**-8, "e4m3": 2.0**-4}   # unit roundoff
SHAPES = ((3, 7, 5), (130, 129, 514), (1, 1, 1), (1, 1100, 3))


def round_bf16(values):
    """float32 to the nearest bf16, ties to even, as float32."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32)).view(np.float32)


def bound(a, b, dtype, out, partials="fp32"):
    """Largest |C - A B| that the formats allow, element by element; a and b are the exact values in the files.

    Both inputs are rounded to `dtype` once. A product then passes at most 128 additions in the array (each FP32 one
    rounds once), 4 additions of partial sums per K tile (FP32 takes 4 passes), and one more per K block in SBUF, where a
    partial sum may be kept in `partials`. The delivered value is rounded once. Values are far from under- and overflow.
    """
    k = a.shape[1]
    tiles = -(-k // 128)
    additions = min(k, 128) + 5 * tiles
    u32 = UNIT["fp32"]
    source = UNIT["fp32"] if a.dtype == np.float32 else UNIT["fp16"]
    u_in = 0.0 if UNIT[dtype] <= source else UNIT[dtype]
    growth = (1 + u_in) ** 2 * (1 + additions * u32 / (1 - additions * u32))
    if partials != "fp32":
        growth *= (1 + UNIT[partials]) ** tiles
    magnitude = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    exact = np.abs(a.astype(np.float64) @ b.astype(np.float64))
    error = (growth - 1) * magnitude
    u_out = UNIT[out]
    return error + u_out * (exact + error) + 1e-40


class Numpy(CliTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(20240229)

    def multiply(self, a, b, *options, dtype, out, partials="fp32"):
        np.save(self.dir / "a.npy", a)
        np.save(self.dir / "b.npy", b)
        report = self.run_report("gemm", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", *options)
        self.assertEqual((report["workload"]["dtype"], report["workload"]["out_dtype"]), (dtype, out))
        self.assertEqual(report["result"]["check"], {"elements": a.shape[0] * b.shape[1], "mismatches": 0, "max_ulp": 0,
                                                     "sampled": False})
        c = np.load(self.dir / "c.npy")
        self.assertEqual(c.dtype, np.float16 if out == "fp16" else np.float32)
        self.assertEqual(c.shape, (a.shape[0], b.shape[1]))
        error = np.abs(c.astype(np.float64) - a.astype(np.float64) @ b.astype(np.float64))
        allowed = bound(a, b, dtype, out, partials)
        worst = np.unravel_index(np.argmax(error / allowed), error.shape)
        self.assertTrue(np.all(error <= allowed), f"C{list(worst)} is off by {error[worst]}, allowed {allowed[worst]}")
        return c

    def matrices(self, shape, dtype):
        m, k, n = shape
        return (self.random.standard_normal((m, k)).astype(dtype), self.random.standard_normal((k, n)).astype(dtype))

    def test_float32_files_stay_fp32(self):
        for shape in SHAPES:
            self.multiply(*self.matrices(shape, np.float32), dtype="fp32", out="fp32")

    def test_float16_files_stay_fp16(self):
        for shape in SHAPES:
            self.multiply(*self.matrices(shape, np.float16), dtype="fp16", out="fp16")

    def test_every_tiling_and_two_cores_give_the_right_product(self):
        a, b = self.matrices((300, 260, 1030), np.float32)
        results = [self.multiply(a, b, "--tiling", tiling, "--cores", cores, dtype="fp32", out="fp32")
                   for tiling, cores in (("basic", 1), ("hoist", 2), ("block_free", 1), ("full", 2))]
        for other in results[1:]:
            np.testing.assert_array_equal(results[0].view(np.uint32), other.view(np.uint32))

    def test_conversions(self):
        shape = (130, 129, 514)
        f32, f16 = self.matrices(shape, np.float32), self.matrices(shape, np.float16)
        c = self.multiply(*f32, "--dtype", "bf16", dtype="bf16", out="bf16")
        np.testing.assert_array_equal(c, round_bf16(c))   # bf16 goes out as float32, exactly
        wide = self.multiply(*f32, "--dtype", "bf16", "--out-dtype", "fp32", dtype="bf16", out="fp32")
        np.testing.assert_array_equal(c, round_bf16(wide))
        half = self.multiply(*f32, "--dtype", "bf16", "--out-dtype", "fp16", dtype="bf16", out="fp16")
        np.testing.assert_array_equal(half, wide.astype(np.float16))
        self.multiply(*f32, "--dtype", "tf32", dtype="tf32", out="fp32")
        self.multiply(*f32, "--dtype", "fp16", dtype="fp16", out="fp16")
        self.multiply(*f32, "--dtype", "e4m3", "--out-dtype", "fp32", dtype="e4m3", out="fp32")
        self.multiply(*f16, "--dtype", "fp32", dtype="fp32", out="fp32")
        self.multiply(*f16, "--out-dtype", "fp32", dtype="fp16", out="fp32")
        self.multiply(*f16, "--dtype", "bf16", "--out-dtype", "bf16", dtype="bf16", out="bf16")
        self.multiply(f32[0], f16[1], "--dtype", "bf16", dtype="bf16", out="bf16")

    def test_bf16_inputs_are_rounded_to_nearest_even(self):
        # 1 x 1 x 1: the product of the rounded values is exact in FP32.
        for a, b in ((1 + 2**-8, 1.0), (1 + 3 * 2**-8, 1.0), (-1 - 2**-8 - 2**-20, 3.0), (1.7, -2.3)):
            x, y = np.array([[a]], np.float32), np.array([[b]], np.float32)
            c = self.multiply(x, y, "--dtype", "bf16", "--out-dtype", "fp32", dtype="bf16", out="fp32")
            self.assertEqual(c[0, 0], round_bf16(x)[0, 0] * round_bf16(y)[0, 0])

    def test_partial_results_in_bf16(self):
        a, b = self.matrices((5, 3000, 9), np.float32)
        options = ["--dtype", "bf16", "--out-dtype", "fp32"]
        self.multiply(a, b, *options, "--partials", "bf16", dtype="bf16", out="fp32", partials="bf16")
        self.multiply(a, b, *options, dtype="bf16", out="fp32")

    def test_special_values_come_through(self):
        a = np.array([[np.inf, 1], [np.nan, 1], [0, -0.0], [65504, 65504]], np.float16)
        b = np.array([[1, 0], [1, 65504]], np.float16)
        np.save(self.dir / "a.npy", a)
        np.save(self.dir / "b.npy", b)
        self.good("run", "trn1.2xlarge", "gemm", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--quiet")
        c = np.load(self.dir / "c.npy")
        with np.errstate(all="ignore"):
            expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
        np.testing.assert_array_equal(c, expected)

    def test_sizes_that_agree_with_the_files_may_be_given(self):
        a, b = self.matrices((3, 7, 5), np.float32)
        self.multiply(a, b, "--m", "3", "--k", "7", "--n", "5", dtype="fp32", out="fp32")

    def test_an_output_file_is_replaced(self):
        a, b = self.matrices((3, 7, 5), np.float32)
        (self.dir / "c.npy").write_bytes(b"old" * 1000)
        self.multiply(a, b, dtype="fp32", out="fp32")
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["a.npy", "b.npy", "c.npy", "report.json"])

    def test_a_run_without_files_writes_its_product_too(self):
        self.good("run", "trn1.2xlarge", "gemm", *size(5, 6, 7), "--out", "c.npy", "--quiet")
        self.assertEqual(np.load(self.dir / "c.npy").shape, (5, 7))


if __name__ == "__main__":
    main()
