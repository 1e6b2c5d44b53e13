# Build one program's image with --target manager, --target dedup-proxy or --target finance-agent.
FROM golang:1.26 AS builder
ARG TARGETOS
ARG TARGETARCH
WORKDIR /workspace

# Dependencies change less often than the code: a layer of their own.
COPY go.mod go.sum ./
RUN go mod download

COPY api/ api/
COPY cmd/ cmd/
COPY controllers/ controllers/
COPY internal/ internal/
# The paths here are the same in every build, so that it needs no -trimpath. test/install runs this line, and looks at what
# comes of it.
RUN mkdir /out && CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -ldflags="-s -w" -o /out/ ./cmd/...

FROM gcr.io/distroless/static:nonroot AS finance-agent
COPY --from=builder /out/finance-agent /finance-agent
USER 65532:65532
ENTRYPOINT ["/finance-agent"]

# /var/lib/dedup-proxy is for a volume that the user may write, such as one for SQLite.
FROM gcr.io/distroless/static:nonroot AS dedup-proxy
COPY --from=builder /out/dedup-proxy /dedup-proxy
USER 65532:65532
ENTRYPOINT ["/dedup-proxy"]

# The last stage is what a build without --target makes.
FROM gcr.io/distroless/static:nonroot AS manager
COPY --from=builder /out/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
