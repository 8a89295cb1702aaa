# One image for all services; the command chooses which. Not built so far: see docs/operations.md.
FROM node:22-bookworm-slim

ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATA_DIR=/data \
    BUN_CONFIG_MAX_HTTP_REQUESTS=65336
WORKDIR /app

COPY package.json package-lock.json ./
RUN npm ci --omit=dev && npm cache clean --force
COPY bin bin
COPY migrations migrations
COPY src src
COPY console console
COPY bunfig.toml ./

RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080 8081 8082
STOPSIGNAL SIGTERM
# Bun itself is process 1, so that signals reach it without a shell or npm in between.
CMD ["node_modules/.bin/bun", "src/start/everything.ts"]
