# docker build -t orrery .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" orrery run experiment.yaml
FROM docker.io/library/debian:12 AS build
COPY . /orrery
WORKDIR /orrery
RUN scripts/setup file && cmake --preset release -DORRERY_TESTS=OFF -DORRERY_BENCH=OFF && cmake --build --preset release \
    && cd build/release && cpack -G DEB

FROM docker.io/library/debian:12-slim
RUN --mount=from=build,source=/orrery/build/release,target=/package \
    apt-get update && apt-get install -y --no-install-recommends /package/orrery_*.deb && rm -rf /var/lib/apt/lists/*
WORKDIR /work
# Not root, also where nobody says who: an account without a name, which owns nothing in the image.
USER 10001:10001
ENTRYPOINT ["orrery"]
