# SPDX-License-Identifier: Apache-2.0
#
#   docker build --tag evenkeel .
#   docker run --rm --volume "$PWD:/work" --user "$(id -u):$(id -g)" evenkeel train --set data.train=book.txt
#
# The first stage builds as ./ek does; the second has the installed program and the libraries that it needs.
FROM debian:12-slim AS build
WORKDIR /src
COPY . .
RUN ./ek schemes >/dev/null \
  && ninja -C build/release evenkeel_ops \
  && cmake --install build/release --prefix /opt/evenkeel --strip \
  && cp -L .deps/torch-*/torch/lib/libtorch_cpu.so .deps/torch-*/torch/lib/libc10.so /opt/evenkeel/lib/ \
  && find .deps -path '*/nvidia/*' \( -name 'libcudart.so.*' -o -name 'libcupti.so.*' \) -exec cp -L {} /opt/evenkeel/lib/ ';'

FROM debian:12-slim
COPY tools/packages.txt /tmp/packages.txt
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    $(awk '/^\[/ { on = $0 == "[runtime]" } on && /^[a-z]/' /tmp/packages.txt) \
  && rm -rf /var/lib/apt/lists/* /tmp/packages.txt
COPY --from=build /opt/evenkeel /usr/local
RUN ldconfig && useradd --create-home evenkeel
USER evenkeel
WORKDIR /work
ENTRYPOINT ["evenkeel"]
CMD ["--help"]
