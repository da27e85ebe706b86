# Compiles the tests of this folder with Debian's packages and performs one class of them: sh run-tests.sh CLASS
set -e
java=/usr/share/java
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
path=$place
for jar in curator-test curator-recipes curator-framework curator-client zookeeper zookeeper-jute slf4j-api \
    slf4j-nop metrics-core snappy-java junit-jupiter junit-jupiter-api junit-jupiter-engine \
    junit-jupiter-params junit-platform-commons junit-platform-console junit-platform-engine \
    junit-platform-launcher junit-platform-reporting opentest4j apiguardian-api picocli; do
    path=$path:$java/$jar.jar
done
javac -nowarn -cp "$path" -d "$place" "$(dirname "$0")"/*.java
java -cp "$path" org.junit.platform.console.ConsoleLauncher --disable-banner --disable-ansi-colors \
    --details=tree --select-class "$1"
