#!/bin/sh
# Compares config/ with the gateway at GATEWAY_URL, and ends with 1 when another revision runs, or something was set by hand a week ago.
node "${GATEWAY_DIRECTORY:-.gateway}/deploy/cli/launch.ts" drift config --url "$GATEWAY_URL" --format markdown \
  --fail-on 'revision, rejected, age > 7d' >drift.md
code=$?
cat drift.md | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
exit $code
