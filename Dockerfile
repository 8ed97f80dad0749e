# syntax=docker/dockerfile:1
# The first stage compiles and installs; the second has what runs. The embedded PostgreSQL stays out: a container needs DATABASE_URL.
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# With what is optional: the compiler is among it.
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm pack --pack-destination /tmp \
  && mkdir /opt/storerank \
  && tar -xzf /tmp/storerank-*.tgz --strip-components=1 -C /opt/storerank \
  && cp package-lock.json /opt/storerank/ \
  && cd /opt/storerank \
  && npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-slim
# docker build --build-arg VERSION=… --build-arg REVISION=…: docs/operations.md has the line.
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="storerank" \
  org.opencontainers.image.description="Keyword ranks of mobile apps, measured on a schedule and kept in Postgres" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
ENV NODE_ENV=production STORERANK_HOME=/tmp/storerank OPERATIONS_LISTEN=0.0.0.0:9090
# Owned by root, run by an ordinary user: the file system may be read-only but for /tmp.
COPY --from=build /opt/storerank /opt/storerank
# The command by its name for `docker exec`, and a folder that a volume for STORERANK_HOME or REPORT_DIR takes its owner from.
RUN ln -s /opt/storerank/src/cli/storerank.js /usr/local/bin/storerank \
  && install --directory --owner=node --group=node /var/lib/storerank
USER node
WORKDIR /tmp
EXPOSE 9090
STOPSIGNAL SIGTERM
# Follows OPERATIONS_LISTEN: a port alone is on loopback, and 0.0.0.0 is reached from within as well.
HEALTHCHECK --interval=60s --timeout=10s --start-period=60s \
  CMD ["node", "-e", "const at = process.env.OPERATIONS_LISTEN; fetch('http://' + (at.includes(':') ? '' : '127.0.0.1:') + at + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/storerank/src/cli/storerank.js"]
CMD ["start"]
