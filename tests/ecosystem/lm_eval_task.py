# SPDX-License-Identifier: Apache-2.0
"""A multiple-choice task of lm-evaluation-harness over a local file, and the environment that keeps it offline."""
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
# Of rows with "context", "choices" and "label". {name}: of the task; {rows}: the path of a file of JSON lines
CHOICE_TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{context}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{label}}}}"
metric_list: [{{metric: acc}}, {{metric: acc_norm}}]
"""
