# One image for all services; the command chooses which. Every base image here exists for amd64 and arm64, and npm brings
# the runtime of the architecture that the image is built for:
#   docker buildx build --platform linux/amd64,linux/arm64 -t turnpike .
# Base images are named by tag and digest: the digest decides, the tag says what it is. docs/operations.md (Base images)
# says how to move to newer ones.
FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# The runtime comes in three copies, of which one is used.
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force \
 && rm -rf node_modules/@oven node_modules/bun/bin/bunx.exe node_modules/.bin/bunx

FROM debian:bookworm-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATA_DIR=/data \
    BUN_CONFIG_MAX_HTTP_REQUESTS=65336
WORKDIR /app
# Numbers, so that Kubernetes can tell that it is not root. Only /data can be written.
RUN groupadd --gid 10001 turnpike \
 && useradd --uid 10001 --gid turnpike --home-dir /data --no-create-home --shell /usr/sbin/nologin turnpike \
 && install -d -o turnpike -g turnpike -m 0700 /data
COPY --from=packages /app/node_modules node_modules
COPY package.json bunfig.toml LICENSE ./
COPY migrations migrations
COPY console console
COPY models models
COPY src src

USER 10001:10001
VOLUME /data
EXPOSE 8080 8081 8082
STOPSIGNAL SIGTERM
# Of the whole in one container, which is the default command; compose.yaml and deploy/kubernetes say their own. Not through
# a proxy, which HTTP_PROXY may name.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node_modules/.bin/bun", "-e", "process.env.no_proxy = '*'; process.exit((await fetch('http://127.0.0.1:8080/healthz')).ok ? 0 : 1)"]
# The runtime itself is process 1, so that signals reach it without a shell or npm in between.
CMD ["node_modules/.bin/bun", "src/start/everything.ts"]
