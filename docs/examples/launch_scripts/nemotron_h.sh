#!/bin/bash
# A hybrid of Mamba-2, attention and MLPs on 4 nodes.
torchrun --nnodes 4 --nproc-per-node 8 pretrain_mamba.py \
    --is-hybrid-model --hybrid-override-pattern M-M-M-M*- --num-layers 9 \
    --mamba-num-heads 128 --mamba-state-dim 128 --mamba-head-dim 64 --mamba-num-groups 8 \
    --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 \
    --ffn-hidden-size 21504 --squared-relu --disable-bias-linear --position-embedding-type none \
    --seq-length 8192 --max-position-embeddings 8192 --untie-embeddings-and-output-weights \
    --tokenizer-type TikTokenizer --tokenizer-model $TOKENIZER --hidden-dropout 0 --attention-dropout 0 \
    --micro-batch-size 1 --global-batch-size 64 --bf16 --tensor-model-parallel-size 4 --sequence-parallel \
    --use-distributed-optimizer --optimizer muon --muon-num-ns-steps 5
