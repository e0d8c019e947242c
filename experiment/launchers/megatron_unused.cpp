// SPDX-License-Identifier: MIT
// Megatron-LM's arguments that are not used, by why. Names are those of megatron/training/arguments.py of NVIDIA/
// Megatron-LM (2025 and 2026).
#include "experiment/launchers/megatron_rows.h"

namespace orrery::experiment {
namespace {

constexpr ArgumentFate kIgnored = ArgumentFate::kIgnored;
constexpr ArgumentFate kNotSimulated = ArgumentFate::kNotSimulated;

std::vector<UnusedArguments> beside_a_step() {
  return {
      {kIgnored, "checkpoints are written between steps (workload.checkpoint has them)",
       "--save --save-interval --persistent-save-interval --save-retain-interval --no-save-optim --no-save-rng --load "
       "--no-load-optim --no-load-rng --load-main-params-from-ckpt --no-strict-fsdp-dtensor-load "
       "--non-persistent-save-interval --non-persistent-ckpt-type --non-persistent-global-ckpt-dir "
       "--non-persistent-local-ckpt-dir --non-persistent-local-ckpt-algo --finetune --pretrained-checkpoint "
       "--ckpt-step "
       "--no-initialization --use-checkpoint-args --use-mp-args-from-checkpoint-args "
       "--no-use-tokenizer-model-from-checkpoint-args --exit-on-missing-checkpoint --use-dist-ckpt "
       "--use-persistent-ckpt-worker --auto-detect-ckpt-format --dist-ckpt-format --ckpt-format --ckpt-convert-format "
       "--ckpt-convert-save --ckpt-convert-update-legacy-dist-opt-format --ckpt-fully-parallel-save "
       "--no-ckpt-fully-parallel-save --async-save --ckpt-fully-parallel-load --ckpt-assume-constant-structure "
       "--dist-ckpt-strictness --dist-ckpt-save-pre-mcore-014 --dist-ckpt-optim-fully-reshardable "
       "--distrib-optim-fully-reshardable-mem-efficient --override-opt_param-scheduler --override-opt-param-scheduler "
       "--use-checkpoint-opt-param-scheduler --replication --replication-jump --replication-factor --ckpt-*"},
      {kIgnored, "logging, beside the step",
       "--log-* --tensorboard-* --wandb-* --one-logger-* --no-one-logger --app-tag-run-name --app-tag-run-version "
       "--timing-log-level --timing-log-option --no-barrier-with-level-1-timing --no-log-loss-scale-to-tensorboard "
       "--logging-level --config-logger-dir --moe-per-layer-logging --record-memory-history --memory-snapshot-path "
       "--enable-one-logger --straggler-* --disable-straggler-on-startup"},
      {kIgnored, "the profiler: of a few steps only",
       "--profile --profile-step-start --profile-step-end --profile-ranks --use-pytorch-profiler "
       "--run-workload-inspector-server"},
      {kIgnored, "evaluation is between steps",
       "--eval-iters --eval-interval --full-validation --multiple-validation-sets --test-mode --skip-train"},
      {kIgnored, "length of the run, not of a step (workload.tokens says what the whole run takes)",
       "--train-iters --train-samples --exit-interval --exit-duration-in-mins --exit-signal-handler "
       "--iterations-to-skip --train-iterations"},
      {kIgnored, "learning rate and regularisation: values, not time",
       "--lr --lr-* --min-lr --warmup --decoupled-lr --decoupled-min-lr --weight-decay --start-weight-decay "
       "--end-weight-decay --weight-decay-incr-style --clip-grad --adam-beta1 --adam-beta2 --adam-eps --muon-momentum "
       "--muon-no-split-qkv --muon-use-nesterov --muon-scale-mode --muon-fp32-matmul-prec --muon-extra-scale-factor "
       "--loss-scale --initial-loss-scale --min-loss-scale --loss-scale-window --hysteresis --mtp-loss-scaling-factor "
       "--calculate-per-token-loss --head-lr-mult"},
  };
}

std::vector<UnusedArguments> around_a_step() {
  return {
      {kIgnored, "seeds and initial values",
       "--seed --data-parallel-random-init --init-method-std --embedding-init-method-std --init-method-xavier-uniform "
       "--use-cpu-initialization --te-rng-tracker --inference-rng-tracker --lazy-mpu-init "
       "--init-model-with-meta-device"},
      {kIgnored, "data: the input is ready in time (workload.input has its pipeline)",
       "--data-path --split --train-data-path --valid-data-path --test-data-path --data-args-path "
       "--per-split-data-args-path --data-cache-path --no-mmap-bin-files --mock-data --sample-rate --mask-prob "
       "--short-seq-prob --num-workers --reset-position-ids --reset-attention-mask --eod-mask-loss "
       "--num-dataset-builder-threads --object-storage-cache-path --mid-level-dataset-surplus "
       "--allow-ambiguous-pad-tokens --dataloader-type --merge-file --tokenizer-metadata --tiktoken-pattern "
       "--tiktoken-num-special-tokens --tiktoken-special-tokens --legacy-tokenizer --trust-remote-code "
       "--retriever-seq-length --sft-tokenizer-prompt-format --dataset-*"},
      {kIgnored, "faults and restarts, beside the step (reliability has them)",
       "--inprocess-* --enable-ft-package --calc-ft-timeouts --error-injection-rate --error-injection-type "
       "--rerun-mode --result-rejected-tracker-filename --adlr-autoresume --adlr-autoresume-interval --ft-* "
       "--check-weight-hash-across-dp-replicas-interval"},
      {kIgnored, "how ranks find one another",
       "--distributed-backend --distributed-timeout-minutes --distributed-timeout-seconds-after-init --local-rank "
       "--disable-gloo-process-groups --pipeline-model-parallel-comm-backend --tp-comm-bootstrap-backend --disable-msc "
       "--enable-experimental --use-mcore-models --no-async-tensor-model-parallel-allreduce"},
      {kIgnored, "of inference",
       "--inference-* --max-tokens-to-oom --flash-decode --decode-only-cuda-graphs "
       "--symmetric-ar-type --nccl-all-reduce-for-prefill --mlp-chunks-for-prefill "
       "--disable-chunked-prefill --use-legacy-static-engine --output-bert-embeddings "
       "--bert-embedder-type --cache-mla-latents --moe-pad-experts-for-cuda-graph-inference"},
  };
}

std::vector<UnusedArguments> within_a_step() {
  return {
      {kIgnored, "values of the model, not its size or time",
       "--norm-epsilon --apply-layernorm-1p --rotary-base --rotary-percent --rotary-interleaved "
       "--rotary-seq-len-interpolation-factor --use-rope-scaling --rope-scaling-factor --rope-type "
       "--rotary-scaling-factor --mscale --mscale-all-dim --mrope-section --openai-gelu --squared-relu "
       "--activation-func-clamp-value --glu-linear-offset --apply-query-key-layer-scaling "
       "--apply-residual-connection-post-layernorm --attention-softmax-in-fp32 --no-rope-freq "
       "--relative-attention-num-buckets --relative-attention-max-distance --onnx-safe "
       "--original-max-position-embeddings "
       "--beta-fast --beta-slow --softmax-scale --embedding-multiplier"},
      {kIgnored, "a choice of experts: as even as workload.parallel.expert_skew says",
       "--moe-router-load-balancing-type --moe-aux-loss-coeff --moe-z-loss-coeff --moe-input-jitter-eps "
       "--moe-router-score-function --moe-router-pre-softmax --moe-router-topk-scaling-factor "
       "--moe-router-enable-expert-bias --moe-router-bias-update-rate --moe-router-force-load-balancing "
       "--moe-token-drop-policy --moe-router-dtype --moe-upcycling-granularity --moe-use-upcycling "
       "--moe-apply-probs-on-input"},
      {kIgnored, "as Orrery's software has it: fused kernels of Megatron-Core",
       "--moe-permute-fusion --moe-router-fusion --use-fused-weighted-squared-relu --use-te-activation-func "
       "--cross-entropy-fusion-impl --tp-comm-overlap-cfg --tp-comm-overlap-rs-dgrad --moe-deepep-num-sms "
       "--moe-hybridep-num-sms --use-transformer-engine-op-fuser --megatron-fsdp-* --use-transformer-engine-op-fuser "
       "--megatron-fsdp-* --use-te-rng-tracker --fused-residual-rmsnorm --bias-gelu-fusion --bias-swiglu-fusion "
       "--masked-softmax-fusion --apply-rope-fusion --bias-dropout-fusion --gradient-accumulation-fusion "
       "--persist-layer-norm --moe-extended-tp --moe-use-legacy-grouped-gemm"},
      {kIgnored, "checks whose time is not told from the step's",
       "--no-check-for-nan-in-loss-and-grad --check-for-nan-in-loss-and-grad --check-for-spiky-loss "
       "--check-for-large-grads --manual-gc --manual-gc-interval --no-manual-gc-eval --empty-unused-memory-level "
       "--train-sync-interval --cuda-graph-warmup-steps --dump-param-to-param-group-map"},
      {kIgnored, "details of scaling in fp8",
       "--fp8-margin --fp8-interval --fp8-amax-history-len --fp8-amax-compute-algo --fp8-quantizer-factory "
       "--fp4-quantizer-factory --fp4-param-gather --keep-fp8-transpose-cache --fp8-dot-product-attention "
       "--fp8-multi-head-attention --reuse-grad-buf-for-mxfp8-param-ag --disable-bf16-reduced-precision-matmul"},
      {kIgnored, "the same bytes in buckets, at other times or by other buffers",
       "--no-align-grad-reduce --no-align-param-gather --ddp-pad-buckets-for-high-nccl-busbw "
       "--ddp-average-in-collective "
       "--no-gradient-reduce-div-fusion --disable-symmetric-registration --fsdp-double-buffer "
       "--suggested-communication-unit-size --high-priority-stream-groups --nccl-communicator-config-path "
       "--no-scatter-gather-tensors-in-pipeline --no-clone-scatter-output-in-embedding --no-pin-cpu-grads "
       "--no-pin-cpu-params --use-torch-optimizer-for-cpu-offload --disable-mamba-mem-eff-path "
       "--overlap-p2p-communication --variable-seq-lengths --calculate-per-sample-loss"},
      {kIgnored, "an old name that says nothing any more",
       "--use-legacy-models --use-ring-exchange-p2p --recompute-granularity-old --data-parallel-size --world-size "
       "--rank "
       "--transformer-pipeline-model-parallel-size --spec --mamba-initial-dt"},
  };
}

std::vector<UnusedArguments> other_steps() {
  return {
      {kNotSimulated, "batches grow in the beginning; a step is that of the whole global batch",
       "--rampup-batch-size --decrease-batch-size-if-needed"},
      {kNotSimulated, "kernels that are not fused move more of memory",
       "--no-masked-softmax-fusion --no-bias-gelu-fusion --no-bias-swiglu-fusion --no-bias-dropout-fusion "
       "--no-rope-fusion --no-persist-layer-norm"},
      {kNotSimulated, "gradients that no product adds up move more of memory (software.accumulation has it)",
       "--no-gradient-accumulation-fusion"},
      {kNotSimulated, "residual connections in fp32 are twice as large", "--fp32-residual-connection"},
      {kNotSimulated, "biases of queries, keys and values alone are left out", "--add-qkv-bias"},
      {kNotSimulated, "norms of queries and keys without weights are left out", "--qk-l2-norm"},
      {kNotSimulated, "weight gradients stay in fp8", "--no-fp8-wgrad"},
      {kNotSimulated, "modules of multi-token prediction have parameters of their own", "--mtp-use-repeated-layer"},
      {kNotSimulated, "a weight gradient starts where it can", "--delay-wgrad-compute"},
      {kNotSimulated, "kept inputs of recomputed layers are not shared by tensor-parallel ranks",
       "--distribute-saved-activations"},
      {kNotSimulated, "activations stay on the device (workload.offload.activations has them)",
       "--cpu-offloading-num-layers --cpu-offloading --fine-grained-activation-offloading --offload-modules "
       "--min-offloaded-tensor-size --overlap-cpu-optimizer-d2h-h2d"},
      {kNotSimulated, "gradients are exchanged in their own precision",
       "--ddp-reduce-scatter-with-fp32-accumulation --fp16-lm-cross-entropy"},
      {kNotSimulated, "parameters are gathered with the next forward pass",
       "--overlap-param-gather-with-optimizer-step --overlap-p2p-communication-warmup-flush --ddp-num-buckets "
       "--enable-full-sharding-in-hsdp"},
      {kNotSimulated, "tensor parallelism overlaps as tp-comm-overlap has it by default",
       "--disable-tp-comm-overlap-ag --disable-tp-comm-overlap-rs --disable-tp-comm-bulk-dgrad "
       "--disable-tp-comm-bulk-wgrad --disable-tp-comm-split-ag --disable-tp-comm-split-rs"},
      {kNotSimulated, "switches add up where NCCL chooses it, not by registration",
       "--use-nccl-ub --nccl-ub --use-sharp --sharp-enabled-group"},
      {kNotSimulated, "sequences of one length; packed ones see each other",
       "--rl-use-sequence-packing --rl-sequence-packing-bin-size --rl-sequence-packing-algo --sft "
       "--hybrid-context-parallel --max-seqlen-per-dp-cp-rank"},
      {kNotSimulated, "layers that differ one by one",
       "--heterogeneous-layers-config-path --heterogeneous-layers-config-encoded-json --hybrid-attention-ratio "
       "--hybrid-mlp-ratio --kitchen-config-file --kitchen-recipe-number"},
      {kNotSimulated, "a file of more arguments, which is not read: give it beside the script", "--yaml-cfg"},
  };
}

std::vector<UnusedArguments> environment() {
  return {
      {kIgnored, "order of launches: overlaps are as Megatron has them with 1", "CUDA_DEVICE_MAX_CONNECTIONS"},
      {kIgnored, "the allocator, whose fragments software.footprint.fragments has",
       "PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF TORCH_NCCL_AVOID_RECORD_STREAMS"},
      {kIgnored, "of Transformer Engine: kernels are those of the software",
       "NVTE_APPLY_QK_LAYER_SCALING NVTE_FWD_LAYERNORM_SM_MARGIN "
       "NVTE_BWD_LAYERNORM_SM_MARGIN NVTE_CPU_OFFLOAD_V1 NVTE_CUDNN_MXFP8_NORM NVTE_NORM_FWD_USE_CUDNN "
       "NVTE_NORM_BWD_USE_CUDNN NVTE_*"},
      {kNotSimulated, "NCCL has its default channels, threads and buffers",
       "NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_MAX_CTAS NCCL_MIN_CTAS NCCL_NTHREADS NCCL_BUFFSIZE"},
      {kIgnored, "of NCCL: its own choices, on the cluster's links", "NCCL_* UCX_* SHARP_* GLOO_* NVSHMEM_*"},
      {kIgnored, "of the process, beside the step", "CUDA_* TORCH_* OMP_NUM_THREADS PYTHON* CUBLAS_* CUDNN_* HF_*"},
  };
}

}  // namespace

std::vector<UnusedArguments> megatron_unused() {
  std::vector<UnusedArguments> all;
  for (const auto& part : {beside_a_step(), around_a_step(), within_a_step(), other_steps(), environment()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace orrery::experiment
