# Registers, a loop, semaphores between engines, a transfer and data paths.
.engine tensor
  register_move dst=r1, src=0
again:
  register_add dst=r1, src=r1, src2=1
  compare_branch r1 < 10, target=again
  load_stationary stationary=sbuf[0:128, 4096] bf16 <128>  wait s0 >= 16 data
  nc_matmul dst=psum[0:128, 0] fp32 <512>, moving=sbuf[0:128, 8192] bf16 <512>  inc s3

.engine vector
  memset dst=sbuf[0:128, 65536] fp32 <16>, value=1.5
  tensor_copy dst=sbuf[0:128, 32768] bf16 <512>, src=psum[0:128, 0] fp32 <512>  wait s3 >= 1 data  inc s4

.engine sync
  dma_copy dst=sbuf(0, 0, 4096) <128:0x40000>, src=hbm(0, 0x10000) <128:0x1400>, bytes=5120, queue=3  inc s0
