# dtypecheck for training jobs: docker build -t dtypecheck . after scripts/wheel; then
#   docker run --rm -v "$PWD:/work" dtypecheck trace -- python train.py
# The torch of your programs goes into the same environment: --build-arg TORCH=torch==2.8.0
FROM debian:12-slim
ARG TORCH=torch
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home user \
 && install -d -o user /venv /work
USER user
COPY dist/dtypecheck-*.whl /tmp/
RUN python3 -m venv /venv \
 && /venv/bin/pip install --no-cache-dir ${TORCH} \
 && /venv/bin/pip install --no-cache-dir --no-index /tmp/dtypecheck-*.whl
ENV PATH=/venv/bin:$PATH
WORKDIR /work
ENTRYPOINT ["dtypecheck"]
CMD ["--help"]
