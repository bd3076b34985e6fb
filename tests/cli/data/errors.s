.engine sync
  dma_copi dst=sbuf(0, 0, 4096)
  nop x
.engine tensr
  nop
.engine tensor
  register_move dst=r99, src=0
  compare_branch r1 < 10, target=nowhere
