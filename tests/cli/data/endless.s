.engine tensor
again:
  compare_branch always, target=again
