# SPDX-License-Identifier: MIT
"""What stands beside the passes of an iteration: input, checkpoints, the first broadcast; pipelines without flushes."""
from case import Case

INPUT = "run configs/studies/resnet-50-input.yaml"
SLOW = INPUT + " --set workload.input.cores=4"
NONE = INPUT + " --set 'workload.input={sample: 1 B, prefetch: 1}'"
TIME, OTHER = "{/iteration_time_s}", "{2/iteration_time_s}"
READ = "256 * 110e3 / 6e9 + 1e-3"
COPY = "256 * 150528 / 24e9"
SAVED = INPUT + " --set 'workload.checkpoint={every: 2, asynchronous: false}'"
PIPEDREAM = "run configs/studies/pipeline-4-stages.yaml --set workload.schedule.kind=pipedream --set workload.iterations=10"
SERVERS = "run configs/studies/asynchronous-jitter.yaml --set perturb.jitter.sigma='0 %'"

CASES = [
    Case("What storage, host and copy do in time costs nothing", (INPUT, NONE), TIME + " / " + OTHER, "", "1",
         "one batch ahead"),
    Case("Four cores decode a batch: an iteration", SLOW, TIME, "s", READ + " + 256 / 4 * 4e-3 + " + COPY,
         "reading, decoding and copying one after the other, longer than computing"),
    Case("share of its time in which data is loaded", SLOW,
         "{/breakdown/0/loading_s} / {/total_time_s}", "", "1", "always"),
    Case("without prefetching: what an iteration takes longer", (INPUT + " --set workload.input.prefetch=0", NONE),
         TIME + " - " + OTHER, "s", READ + " + 256 / 16 * 4e-3 + " + COPY, "input, then computing"),
    Case("three batches ahead, with four cores", SLOW + " --set workload.input.prefetch=3", TIME, "s",
         "(" + READ + " + 4 * (256 / 4 * 4e-3 + " + COPY + ")) / 4", "reading goes on beside decoding"),
    Case("Eight ranks share storage of 1 GB/s", INPUT + " --set memory.remote.shared=node "
         "--set memory.remote.bandwidth='1 GB/s' --set workload.input.decode='0 s'", TIME, "s",
         "(4 * 2048 * 110e3 / 1e9 + 1e-3 + " + COPY + ") / 4", "it never rests"),
    Case("Blocking checkpoints after every second iteration", (SAVED, INPUT), TIME + " - " + OTHER, "s",
         "(14 * 25557032 / 8 / 6e9 + 1e-3) / 2", "parameters, master copy and moments, an eighth by each rank"),
    Case("the same beside training", (SAVED.replace("every: 2, asynchronous: false", "every: 3, asynchronous: true"),
                                      INPUT), TIME + " / " + OTHER, "", "1", "the fourth iteration hides them"),
    Case("Parameters to the replicas before the first iteration, over the same broadcast and a barrier alone",
         (INPUT + " --set workload.initial_broadcast=true --set collectives.library=fixed",
          "collective --cluster dgx-a100 --nodes 1 --library fixed --op broadcast -b 51114064",
          "collective --cluster dgx-a100 --nodes 1 --library fixed --op barrier"),
         "{/initial_broadcast_s} * 1e6 / ({2/rows/0/time_us} + {3/rows/0/time_us})", "", "1",
         "2 bytes for each of 25,557,032, then all meet: who has them first is there first", 0.4, "the meeting begins before the last has them"),
    Case("An iteration behind that, one rank of which starts 20 ms late, over one without both",
         (INPUT + " --set workload.initial_broadcast=true --set perturb.ranks.7.start='20 ms'", INPUT),
         TIME + " / " + OTHER, "", "1", "the late rank delays the broadcast, not the iteration"),
    Case("PipeDream: idle over ideal in 10 iterations of 8 micro-batches on 4 stages", PIPEDREAM,
         "{/total_time_s} / {/breakdown/0/compute_s} - 1", "", "(4 - 1) / (10 * 8)",
         "the pipeline fills and drains once", 0.001, "messages take some nanoseconds"),
    Case("age of the first stage's weights in an update, mean", PIPEDREAM, "{/weight_age/0/mean}", "",
         "(0 + 1 + 2 + 77 * 3) / 80", "as many updates as there are stages behind it"),
    Case("of the last stage's", PIPEDREAM, "{/weight_age/3/mean}", "", "0", "none is behind it"),
    Case("versions of its weights that the first stage keeps",
         (PIPEDREAM, "run configs/studies/pipeline-4-stages.yaml"),
         "{/memory/by/parameters} / {2/memory/by/parameters}", "", "4", "one for each micro-batch under way"),
    Case("Asynchronous servers: age of their weights in an update of 12 workers, mean of 10 iterations", SERVERS,
         "{/weight_age/0/mean}", "", "(11 * 12 / 2 + 9 * 12 * 11) / 120", "all others update between two of a worker"),
]
