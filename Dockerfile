# Muster in a container.
#
#   docker build -t muster .
#   docker run -p 8080:8080 -v muster-data:/var/lib/muster \
#     -v "$PWD/muster.yml:/etc/muster/muster.yml:ro" muster
#
# A container is reached from outside, so the service starts only when somebody has decided who may
# come in: tokens in /etc/muster/muster.yml (`docker run --rm muster token` makes one), or an
# explicit MUSTER_INSECURE=on for a network that is closed by other means. With neither it says so
# and exits with 2.
#
# It runs as a user of its own and writes to /var/lib/muster alone, so its own file system may be read-only:
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges …
# Name the base images by digest, so that each build has the same base:
#   docker build --build-arg BUILD_BASE=debian:trixie@sha256:… --build-arg BASE=debian:trixie-slim@sha256:… .
ARG BUILD_BASE=debian:trixie
ARG BASE=debian:trixie-slim

FROM ${BUILD_BASE} AS build
# libdrogon-dev does not pull in what its CMake file asks for: that is the second line.
RUN apt-get update && apt-get install -y --no-install-recommends \
      g++ cmake ninja-build pkg-config python3 libdrogon-dev \
      uuid-dev libbrotli-dev libpq-dev libmariadb-dev libhiredis-dev zlib1g-dev libc-ares-dev \
      libjsoncpp-dev libsqlite3-dev libyaml-cpp-dev libssl-dev \
      libfmt-dev libexpected-dev libcli11-dev libjemalloc-dev libboost-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF \
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=20 \
    && cmake --build /build --target muster \
    && cmake --install /build --prefix /usr/local --strip

FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates libdrogon1t64 libjsoncpp26 libsqlite3-0 libyaml-cpp0.8 libssl3t64 \
      libfmt10 libjemalloc2 libpq5 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 muster \
    && useradd --no-log-init --gid 10001 --uid 10001 --home-dir /var/lib/muster --shell /usr/sbin/nologin muster \
    && install -d -o muster -g muster -m 0700 /var/lib/muster \
    && install -d /etc/muster
COPY --from=build /usr/local/bin/muster /usr/local/bin/muster-service /usr/local/bin/
# muster.yml is looked for in the working directory. What stands here beats the file.
WORKDIR /etc/muster
ENV MUSTER_LISTEN=0.0.0.0:8080 \
    STATE_DIRECTORY=/var/lib/muster \
    MUSTER_STORE=sqlite:/var/lib/muster/muster.db
USER 10001:10001
VOLUME /var/lib/muster
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 CMD ["muster", "health"]
ENTRYPOINT ["muster"]
CMD ["serve"]
