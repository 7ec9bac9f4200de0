# In the steps of the conformance kit of the Serverless Workflow specification, so that one reader runs both.
Feature: Task types and the order of tasks

  Scenario: The branch that ends first gives the output of a competing fork
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: carriers, version: '1.0.0' }
    do:
      - askCarriers:
          fork:
            compete: true
            branches:
              - askNorth: { set: { offers: '${ .offers + ["north"] }' } }
              - askSouth: { set: { offers: '${ .offers + ["south"] }' } }
              - askEast: { set: { offers: '${ .offers + ["east"] }' } }
    """
    When the workflow is executed
    Then the workflow should complete
    And the workflow output should have a 'offers' property containing 1 items

  Scenario: Each task of a do takes the output of the one before
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: packing, version: '1.0.0' }
    do:
      - packParcel:
          do:
            - addBox: { set: { parcel: '${ .parcel + ["box"] }' } }
            - addGoods: { set: { parcel: '${ .parcel + ["goods"] }' } }
            - addLabel: { set: { parcel: '${ .parcel + ["label"] }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    parcel: [ box, goods, label ]
    """

  Scenario: The output of emit is the event
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: sending, version: '1.0.0' }
    do:
      - tellOfParcel:
          emit:
            event:
              with:
                source: https://parcels.example
                type: example.parcels.sent.v1
                data:
                  summary: ${ "\(.parcel.code) to \(.parcel.city)" }
    """
    And given the workflow input is:
    """yaml
    parcel: { code: P-7, city: Tromsø }
    """
    When the workflow is executed
    Then the workflow should complete
    And the workflow output should have properties 'id', 'specversion', 'time', 'source', 'type', 'data'
    And the workflow output should have a 'source' property with value:
    """yaml
    https://parcels.example
    """
    And the workflow output should have a 'type' property with value:
    """yaml
    example.parcels.sent.v1
    """
    And the workflow output should have a 'data' property with value:
    """yaml
    summary: P-7 to Tromsø
    """

  Scenario: Tasks without then run in the order of the document
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: stations, version: '1.0.0' }
    do:
      - leaveDepot: { set: { stations: '${ .stations + ["depot"] }' } }
      - crossBorder: { set: { stations: '${ .stations + ["border"] }' } }
      - reachDoor: { set: { stations: '${ .stations + ["door"] }' } }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    stations: [ depot, border, door ]
    """
    And leaveDepot should run first
    And crossBorder should run after leaveDepot
    And reachDoor should run after crossBorder

  Scenario: Tasks with then run in the order that it names
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: detour, version: '1.0.0' }
    do:
      - leaveDepot: { set: { stations: '${ .stations + ["depot"] }' }, then: crossBorder }
      - reachDoor: { set: { stations: '${ .stations + ["door"] }' }, then: end }
      - crossBorder: { set: { stations: '${ .stations + ["border"] }' }, then: reachDoor }
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    stations: [ depot, border, door ]
    """
    And leaveDepot should run first
    And crossBorder should run after leaveDepot
    And reachDoor should run after crossBorder

  Scenario: A for gives its tasks the item by the name of each, and the place as index
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: weighing, version: '1.0.0' }
    do:
      - weighParcels:
          for: { each: parcel, in: .parcels }
          do:
            - note:
                set:
                  weighed: '${ { codes: (.weighed.codes + [ $parcel ]), places: (.weighed.places + [ $index ]) } }'
    """
    And given the workflow input is:
    """yaml
    parcels: [ P-1, P-2, P-3 ]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    weighed: { codes: [ P-1, P-2, P-3 ], places: [ 0, 1, 2 ] }
    """

  Scenario: The error of a raise ends the run, with the place of the task
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: refusing, version: '1.0.0' }
    do:
      - refuseParcel:
          raise: { error: { status: 422, type: 'https://parcels.example/errors/too-heavy', title: Too heavy } }
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 422
    type: https://parcels.example/errors/too-heavy
    title: Too heavy
    instance: /do/0/refuseParcel
    """

  Scenario: A set gives constants and what its expressions take from the input, and nothing else
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: labelling, version: '1.0.0' }
    do:
      - writeLabel:
          set: { kind: label, size: '${ .settings.size }', sender: '${ .settings.sender }' }
    """
    And given the workflow input is:
    """yaml
    settings: { size: { width: 10, height: 15 }, sender: { name: Ada, floor: 2 } }
    unused: true
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    kind: label
    size: { width: 10, height: 15 }
    sender: { name: Ada, floor: 2 }
    """

  Scenario: A switch goes to the task of the case that holds
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: routing, version: '1.0.0' }
    do:
      - chooseRoute:
          switch:
            - land: { when: '.route == "land"', then: byTruck }
            - sea: { when: '.route == "sea"', then: byShip }
      - byTruck: { set: { carriers: '${ .carriers + ["truck"] }' }, then: end }
      - byShip: { set: { carriers: '${ .carriers + ["ship"] }' }, then: end }
    """
    And given the workflow input is:
    """yaml
    route: sea
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    carriers: [ ship ]
    """
    And chooseRoute should run first
    And byShip should run last

  Scenario: A switch of which no case holds continues as its then says
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: routing, version: '1.0.1' }
    do:
      - chooseRoute:
          switch:
            - land: { when: '.route == "land"', then: byTruck }
            - sea: { when: '.route == "sea"', then: byShip }
          then: end
      - byTruck: { set: { carriers: '${ .carriers + ["truck"] }' } }
      - byShip: { set: { carriers: '${ .carriers + ["ship"] }' } }
    """
    And given the workflow input is:
    """yaml
    route: air
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    route: air
    """
    And chooseRoute should run first
    And chooseRoute should run last

  Scenario: A case without when is taken where no other holds
    Given a workflow with definition:
    """yaml
    document: { dsl: '1.0.3', namespace: tests, name: routing, version: '1.0.2' }
    do:
      - chooseRoute:
          switch:
            - land: { when: '.route == "land"', then: byTruck }
            - other: { then: byMessenger }
      - byTruck: { set: { carriers: '${ .carriers + ["truck"] }' } }
      - byMessenger: { set: { carriers: '${ .carriers + [ $input.route ] }' } }
    """
    And given the workflow input is:
    """yaml
    route: air
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    carriers: [ air ]
    """
    And chooseRoute should run first
    And byMessenger should run last
