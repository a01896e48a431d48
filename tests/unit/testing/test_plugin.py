"""The fixture that comes with the package."""

pytest_plugins = ["pytester"]


def test_fixture_is_one_cluster_per_session(pytester):
    pytester.makepyfile(
        """
        seen = []

        def test_one(steersman_cluster):
            seen.append(steersman_cluster.url)

        def test_two(steersman_cluster):
            assert seen == [steersman_cluster.url]
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(passed=2)
