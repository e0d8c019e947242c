#!/bin/bash
# Changes of a recipe: the model is not among them.
torchrun --nnodes 8 --nproc-per-node 8 run_recipe.py \
    model.tensor_model_parallel_size=2 model.sequence_parallel=true \
    model.pipeline_model_parallel_size=2 \
    train.global_batch_size=64 train.micro_batch_size=1 \
    model.seq_length=8192 mixed_precision=bf16_mixed
