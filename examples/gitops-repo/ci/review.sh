#!/bin/sh
# Reviews a change of config/: ci/review.sh origin/main
# Mistakes, policies and tests first, then what the change would have done to the requests of Monday. It writes comment.md, one comment with all
# parts, and ends with 1 when something must be corrected. It runs the same on a laptop.
against=${1:?the branch to compare with, such as origin/main}
gateway() { node "${GATEWAY_DIRECTORY:-.gateway}/deploy/cli/launch.ts" "$@"; }
verdict='This change can be merged.'
code=0
fails() { code=1 verdict='This change cannot be merged yet.'; }

gateway check config --strict --test --format markdown >check.md || fails
gateway plan config --against "$against" --traffic traffic/monday.ndjson.gz --format markdown --fail-on 'refusals > 1%' >plan.md || fails

# ci/comment.ts finds its own comment by the first line.
{
  echo '<!-- review of the gateway configuration -->'
  echo "**$verdict**"
  echo
  cat check.md
  echo
  cat plan.md
} >comment.md
cat comment.md
exit $code
