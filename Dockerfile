# The image of a release: the files of its tarball, on a base with the C libraries and root certificates alone.
# `make image` builds it; `--build-arg BASE=…` takes another base, which needs libc6, libstdc++6 and ca-certificates.
ARG BASE=gcr.io/distroless/cc-debian12:nonroot
FROM ${BASE}

# Tarball of the release for the architecture of the image.
ARG TARBALL
ADD --chown=0:0 ${TARBALL} /opt/
# Its folder is named by version and platform.
ARG FOLDER
ENV PATH=/opt/${FOLDER}:/usr/bin:/bin \
    DATA_DIR=/var/lib/millrace/data \
    MILLRACE_LISTEN=0.0.0.0:3000 \
    MILLRACE_METRICS_LISTEN=0.0.0.0:9464

# The user 'nonroot' of the base. A volume takes the owner of this folder.
USER 65532:65532
WORKDIR /var/lib/millrace
VOLUME /var/lib/millrace
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
ENTRYPOINT ["millrace"]
CMD ["serve"]
