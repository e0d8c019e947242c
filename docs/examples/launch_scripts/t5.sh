#!/bin/bash
torchrun --nproc_per_node 8 pretrain_t5.py \
    --encoder-num-layers 12 --decoder-num-layers 12 --hidden-size 768 --num-attention-heads 12 \
    --encoder-seq-length 512 --decoder-seq-length 128 --micro-batch-size 8 --global-batch-size 64 --bf16
