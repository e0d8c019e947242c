#!/bin/bash
# BERT large on one node.
OPTIONS="--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 \
--max-position-embeddings 512 --micro-batch-size 4 --global-batch-size 32 --fp16 \
--bert-no-binary-head --vocab-file $1"
python -m torch.distributed.launch --nproc_per_node 8 --nnodes 1 pretrain_bert.py $OPTIONS
