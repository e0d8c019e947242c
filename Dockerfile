# docker build -t orrery . && docker run --rm -v "$PWD:/work" orrery run experiment.yaml
FROM debian:12 AS build
COPY . /orrery
WORKDIR /orrery
RUN scripts/setup && cmake --preset release -DORRERY_TESTS=OFF -DORRERY_BENCH=OFF && cmake --build --preset release \
    && cd build/release && cpack -G DEB

FROM debian:12-slim
RUN --mount=from=build,source=/orrery/build/release,target=/package \
    apt-get update && apt-get install -y --no-install-recommends /package/orrery_*.deb && rm -rf /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["orrery"]
