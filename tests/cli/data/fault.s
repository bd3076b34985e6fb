# Breaks rules of the hardware: SBUF of trn1.2xlarge has 196608 bytes a partition, and a waiter must not hang.
.engine vector
  nop
  memset dst=sbuf[0:128, 196600] fp32 <16>, value=1.5  inc s1
  memset dst=sbuf[0:128, 4096] fp32 <16>, value=0.0
.engine sync
  dma_copy dst=sbuf(0, 0, 0) <128:0x40000>, src=hbm(7, 0) <128:0x400>, bytes=1024, queue=0  inc s2
.engine tensor
  nop  wait s1 >= 1
