.engine tensor
  nop
  nop  wait s1 >= 2
.engine vector
  semaphore_increment  inc s1
