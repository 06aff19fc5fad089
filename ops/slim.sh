#!/bin/sh
# Removes from installed packages what no service runs: sh ops/slim.sh SITE_PACKAGES (ops/Dockerfile).
# pyarrow's Flight, cloud file systems and ORC, the second ONNX runtime for C programs, tests, headers and symbols.
# Modules of packages are kept compiled, without source, docstrings and assertions; those of Helix are kept whole.
set -eu
cd "$1"
find . -depth -type d -name tests -exec rm -rf {} +
rm -rf ./*.dist-info/sboms \
  pyarrow/include pyarrow/src pyarrow/libarrow_flight.so* pyarrow/libarrow_python_flight.so* pyarrow/_flight.* \
  pyarrow/libarrow_s3.so* pyarrow/_s3fs.* pyarrow/_azurefs.* pyarrow/_gcsfs.* pyarrow/_hdfs.* \
  pyarrow/_orc.* pyarrow/_dataset_orc.* pyarrow/*parquet_encryption* pyarrow/_pyarrow_cpp_tests* \
  pyarrow/libarrow_python.so pyarrow/libarrow_python.so.*.* \
  onnxruntime/capi/libonnxruntime.so* \
  numpy/f2py numpy/_core/include numpy/_core/lib numpy/random/lib numpy/_core/_simd.*.so
find . -type f \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.pyi' -o -name '*.h' -o -name '*.a' \) -delete
# `helix models build` quantises; where onnx is missing, nothing can
if [ ! -d onnx ]; then
  rm -rf onnxruntime/transformers onnxruntime/tools onnxruntime/quantization
fi
# not those of numpy and scipy: their libraries were changed after they were linked, and strip breaks them
for package in pyarrow tantivy tokenizers cryptography obstore; do
  if [ -d "$package" ]; then
    find "$package" -type f -name '*.so*' -exec strip --strip-unneeded {} +
  fi
done
/opt/helix/bin/python -m compileall -q -b -o 2 -s "$PWD" .
find . -name '*.py' -delete
find . -depth -type d -name __pycache__ -exec rm -rf {} +
