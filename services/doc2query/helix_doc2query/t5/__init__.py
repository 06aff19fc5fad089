"""Questions by a T5 model in ONNX, where the settings name its folder; needs the extra `t5`.

`question_model` loads the folder and runs the graphs, `beam` searches. Nothing else imports this room before
a folder is named, so doc2query runs without ONNX Runtime.
"""
